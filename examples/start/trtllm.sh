#!/usr/bin/env bash
# TensorRT-LLM in one of its layouts: MODEL=… [DRAFT=…] [GPUS=2] [PORT=8000] trtllm.sh LAYOUT
# Settings without a flag stand in a file that this script writes to $TMPDIR.
set -euo pipefail
layout=${1:-plain}
gpus=${GPUS:-2}
tokens=${DRAFT_TOKENS:-4}
config=$(mktemp "${TMPDIR:-/tmp}/trtllm-XXXXXX.yaml")
args=("${MODEL:-}" --host "${HOST:-127.0.0.1}" --port "${PORT:-8000}" --config "$config" --tool_parser "${PARSER:-qwen3}")
cat > "$config" <<YAML
enable_iter_perf_stats: true
return_perf_metrics: true
kv_cache_config:
  enable_block_reuse: true
  dtype: ${KV:-auto}
YAML
speculate() { printf 'speculative_config:\n' >> "$config"; printf '  %s\n' "$@" >> "$config"; }
case $layout in
plain) ;;
ngram) speculate "decoding_type: NGram" "max_draft_len: $tokens" "max_matching_ngram_size: 4" ;;
eagle3) speculate "decoding_type: Eagle3" "max_draft_len: $tokens" "speculative_model: ${DRAFT:?set DRAFT}" ;;
mtp) speculate "decoding_type: MTP" "num_nextn_predict_layers: $tokens" ;;
draft) speculate "decoding_type: Draft_Target" "max_draft_len: $tokens" "speculative_model: ${DRAFT:?set DRAFT}" ;;
tp) args+=(--tp_size "$gpus") ;;
pp) args+=(--pp_size "$gpus") ;;
ep) args+=(--tp_size "$gpus" --ep_size "$gpus"); echo "enable_attention_dp: true" >> "$config" ;;
cp) args+=(--tp_size 1 --cp_size "$gpus") ;;
prefill | decode) printf 'cache_transceiver_config:\n  backend: DEFAULT\n' >> "$config" ;;
router) exec trtllm-serve disaggregated -c "${DISAGGREGATED:-$(dirname "$0")/../trtllm/disaggregated.yaml}" ;;
*) echo "trtllm.sh: no layout $layout (plain ngram eagle3 mtp draft tp pp ep cp prefill decode router)" >&2; exit 2 ;;
esac
: "${MODEL:?set MODEL}"
exec trtllm-serve "${args[@]}"
