#!/usr/bin/env bash
# SGLang in one of its layouts: MODEL=… [DRAFT=…] [GPUS=2] [CP=2] [PARSER=qwen25] [KV=auto] [PORT=30000] sglang.sh LAYOUT
# `router` (data-parallel replicas, or PREFILL=URL DECODE=URL) needs `pip install sglang-router`.
set -euo pipefail
layout=${1:-plain}
gpus=${GPUS:-2}
tokens=${DRAFT_TOKENS:-4}
port=${PORT:-30000}
args=(--model-path "${MODEL:-}" --host "${HOST:-127.0.0.1}" --port "$port"
    --kv-cache-dtype "${KV:-auto}"
    --enable-metrics --enable-cache-report --tool-call-parser "${PARSER:-qwen25}")
steps=(--speculative-num-steps "$((tokens - 1))" --speculative-eagle-topk 1 --speculative-num-draft-tokens "$tokens")
case $layout in
plain) ;;
ngram) args+=(--speculative-algorithm NGRAM --speculative-num-draft-tokens "$tokens") ;;
eagle3) args+=(--speculative-algorithm EAGLE3 --speculative-draft-model-path "${DRAFT:?set DRAFT}" "${steps[@]}") ;;
mtp) args+=(--speculative-algorithm NEXTN "${steps[@]}") ;;
draft) args+=(--speculative-algorithm STANDALONE --speculative-draft-model-path "${DRAFT:?set DRAFT}" "${steps[@]}") ;;
tp) args+=(--tp-size "$gpus") ;;
pp) args+=(--pp-size "$gpus") ;;
dp) args+=(--dp-size "$gpus") ;;
ep) args+=(--tp-size "$gpus" --dp-size "$gpus" --enable-dp-attention --ep-size "$gpus") ;;
cp) args+=(--tp-size "$gpus" --attn-cp-size "${CP:-$gpus}" --enable-prefill-context-parallel) ;;
prefill) args+=(--disaggregation-mode prefill) ;;
decode) args+=(--disaggregation-mode decode) ;;
router)
    exec python -m sglang_router.launch_router --pd-disaggregation --port "$port" \
        --prefill "${PREFILL:?set PREFILL}" --decode "${DECODE:?set DECODE}"
    ;;
*) echo "sglang.sh: no layout $layout (plain ngram eagle3 mtp draft tp pp dp ep cp prefill decode router)" >&2; exit 2 ;;
esac
: "${MODEL:?set MODEL}"
exec python -m sglang.launch_server "${args[@]}"
