#!/usr/bin/env bash
# vLLM in one of its layouts: MODEL=… [DRAFT=…] [GPUS=2] [CP=2] [PARSER=hermes] [KV=auto] [PORT=8000] vllm.sh LAYOUT
# `router` (in front of PREFILL=URL and DECODE=URL) needs `pip install vllm-router`.
set -euo pipefail
layout=${1:-plain}
gpus=${GPUS:-2}
tokens=${DRAFT_TOKENS:-4}
args=(serve "${MODEL:-}" --host "${HOST:-127.0.0.1}" --port "${PORT:-8000}"
    --kv-cache-dtype "${KV:-auto}"
    --enable-prompt-tokens-details --enable-prefix-caching
    --enable-auto-tool-choice --tool-call-parser "${PARSER:-hermes}")
speculate() { args+=(--speculative-config "$1"); }
transfer() { args+=(--kv-transfer-config "{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"$1\"}"); }
case $layout in
plain) ;;
ngram) speculate "{\"method\":\"ngram\",\"num_speculative_tokens\":$tokens,\"prompt_lookup_max\":4}" ;;
eagle3) speculate "{\"method\":\"eagle3\",\"model\":\"${DRAFT:?set DRAFT}\",\"num_speculative_tokens\":$tokens}" ;;
mtp) speculate "{\"method\":\"mtp\",\"num_speculative_tokens\":$tokens}" ;;
draft) speculate "{\"model\":\"${DRAFT:?set DRAFT}\",\"num_speculative_tokens\":$tokens}" ;;
tp) args+=(--tensor-parallel-size "$gpus") ;;
pp) args+=(--pipeline-parallel-size "$gpus") ;;
dp) args+=(--data-parallel-size "$gpus") ;;
ep) args+=(--data-parallel-size "$gpus" --enable-expert-parallel) ;;
# The KV cache of a long context is spread over CP of the GPUs; CP divides GPUS.
cp) args+=(--tensor-parallel-size "$gpus" --decode-context-parallel-size "${CP:-$gpus}") ;;
prefill) transfer kv_producer ;;
decode) transfer kv_consumer ;;
router)
    exec vllm-router --vllm-pd-disaggregation --kv-connector nixl --policy consistent_hash \
        --host "${HOST:-127.0.0.1}" --port "${PORT:-8000}" \
        --prefill "${PREFILL:?set PREFILL}" --decode "${DECODE:?set DECODE}"
    ;;
*) echo "vllm.sh: no layout $layout (plain ngram eagle3 mtp draft tp pp dp ep cp prefill decode router)" >&2; exit 2 ;;
esac
: "${MODEL:?set MODEL}"
# Dev mode lets replayer empty the prefix cache between sessions; leave it off where others use the server.
VLLM_SERVER_DEV_MODE=${VLLM_SERVER_DEV_MODE:-1} exec vllm "${args[@]}"
