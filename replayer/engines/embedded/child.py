"""The process that an embedded engine lives in: llama.cpp's own server on a free port of 127.0.0.1.

Reads one JSON object of settings from the first line of stdin, prints the server's URL, and ends when stdin
does: so it cannot outlive the process that started it, however that one ended.
"""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import xllamacpp

from replayer.wire.types import JsonObject


def common_params(settings: JsonObject) -> object:
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["alias"]}
    params.n_ctx = settings["ctx"] * settings["parallel"]
    params.n_parallel = settings["parallel"]
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_type_k = _member(xllamacpp.ggml_type, "GGML_TYPE_", settings["cache_type_k"])
    params.cache_type_v = _member(xllamacpp.ggml_type, "GGML_TYPE_", settings["cache_type_v"])
    # On CPUs plain attention decodes twice as fast (33 against 18 tokens/s at 3,000 of context), but it cannot
    # read quantised values.
    plain = settings["cache_type_v"] in ("f32", "f16", "bf16")
    attention = "DISABLED" if plain else "ENABLED"
    # A small model's prompt batch of 128 stays in the cache of a core: about a tenth faster than the default 512.
    params.n_ubatch = 128
    params.flash_attn_type = _member(xllamacpp.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_", attention)
    kind = _member(xllamacpp.common_speculative_type, "COMMON_SPECULATIVE_TYPE_", settings["speculative"])
    params.speculative.types = [kind]
    params.use_jinja = True
    if settings["chat_template"] is not None:
        params.chat_template = settings["chat_template"]
    # A store of past prompts beside the slots would hide what the prefix cache of one slot really reuses.
    params.cache_ram_mib = 0
    # Without a folder to save slots in, the server refuses to erase them: the only cache reset it has.
    params.slot_save_path = settings["slot_folder"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    return params


def _member(enum: Any, prefix: str, name: str) -> Any:
    return enum.__members__[prefix + name.upper().replace("-", "_")]


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    try:
        server = xllamacpp.Server(common_params(settings))
    except RuntimeError as error:
        sys.exit(str(error))
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # a process that was killed leaves its scratch folder to us
    shutil.rmtree(settings["slot_folder"], ignore_errors=True)


if __name__ == "__main__":
    main()
