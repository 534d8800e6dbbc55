"""Log files of real servers, and the excerpts that people quote."""

import random
from pathlib import Path

import pytest

from replayer.cli import main
from replayer.engines.logs.log_figures import read_samples, summarise
from replayer.engines.logs.patterns import read_settings

CAPTURES = Path(__file__).parents[2] / "captures"

ARTICLE = """\
  Generation throughput: 95.9 tok/s   acceptance length: 4.28   draft acceptance: 82.0%
Generation throughput: 95.3 tok/s   acceptance length: 4.18   draft acceptance: 79.5%
Generation throughput: 109.8 tok/s  acceptance length: 4.97   draft acceptance: 99.2%
Generation throughput: 107.6 tok/s  acceptance length: 4.98   draft acceptance: 99.5%
"""
"""As the background article quotes its vLLM log (NVFP4 with MTP, one session)."""

SWA = "full_layer_tokens=139515\nswa_layer_tokens=111612\nmax_total_num_tokens=139515\n"
"""As it quotes SGLang's two pools with an FP8 KV cache."""


def lines(name):
    return (CAPTURES / name).read_text(errors="replace").splitlines()


def test_the_articles_excerpt_gives_its_figures_and_its_two_bands():
    found = summarise(ARTICLE.splitlines()).as_data()
    assert (found["kind"], found["samples"]) == ("vllm", 4)
    assert (found["decode_tok_s"]["min"], found["decode_tok_s"]["max"]) == (95.3, 109.8)
    assert (found["acceptance_rate"]["min"], found["acceptance_rate"]["max"]) == (0.795, 0.995)
    assert found["acceptance_length"]["max"] == 4.98
    assert [(round(b["low"]), round(b["high"])) for b in found["bands"]] == [(95, 96), (108, 110)]
    assert found["explained_by_acceptance"] > 0.95


def test_sglangs_two_pools():
    settings = read_settings(SWA.splitlines())
    assert (settings.kv_pool_tokens, settings.swa_pool_tokens) == (139515, 111612)


@pytest.mark.parametrize(
    ("name", "kind", "samples", "pool"),
    [
        ("vllm-0.32-cpu/server.log", "vllm", 17, 46592),
        ("vllm-0.32-cpu/server-speculation.log", "vllm", 6, 46592),
        ("vllm-0.21.0-h200/logs/vllm-spec.log", "vllm", 2, 1849696),
        ("sglang-0.5.23-cpu/server.log", "sglang", 159, 40000),
        ("sglang-0.5.12-h200/logs/sgl-spec.log", "sglang", 147, 1917102),
        ("llama.cpp/embedded-server.log", "llamacpp", 2, 8192),
    ],
)
def test_whole_logs(name, kind, samples, pool):
    found = summarise(lines(name)).as_data()
    assert (found["kind"], found["samples"], found["kv_pool_tokens"]) == (kind, samples, pool)


def test_a_drafts_line_belongs_to_the_speed_before_it():
    found = read_samples(lines("vllm-0.21.0-h200/logs/vllm-spec.log"))
    assert [(s.decode_tok_s, s.acceptance_rate, s.acceptance_length) for s in found] == [
        (47.2, 0.774, 3.32),
        (2672.1, pytest.approx(0.949), 4.75),
    ]


def test_sglang_counts_its_prefix_hits_in_tokens():
    hit = summarise(lines("sglang-0.5.23-cpu/server.log")).as_data()["prefix_hit_rate"]
    assert hit["source"] == "counts"
    assert hit["last"] == pytest.approx(15981 / (15981 + 11933))


def test_asked_and_effective_settings():
    vllm = read_settings(lines("vllm-0.21.0-h200/logs/vllm-spec.log"))
    assert vllm.asked["speculative_config"]["num_speculative_tokens"] == 4
    assert vllm.effective["attention_backend"] == "FLASH_ATTN" and vllm.version == "0.21.0"
    assert "min_p and logit_bias parameters won't work with speculative decoding." in vllm.notes
    sglang = read_settings(lines("sglang-0.5.12-h200/logs/sgl-spec.log"))
    assert sglang.effective["speculation"]["num_draft_tokens"] == 12
    assert any(
        note.startswith("speculative_num_draft_tokens is set to 12 by default") for note in sglang.notes
    )


def test_a_server_that_never_served_says_why():
    found = summarise(lines("vllm-0.21.0-h200/logs/vllm-spec-failed-start-no-kv-memory.log")).as_data()
    assert found["samples"] == 0 and "No available memory for the cache blocks" in found["failure"]


PREFIXES = [
    "",
    "vllm-1  | ",
    "Nov 21 03:06:11 host vllm[682]: ",
    "2026-11-21T03:06:11.123Z stderr F ",
    "\x1b[36m(APIServer pid=1)\x1b[0m ",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes_colours_and_interleaved_lines_do_not_matter(prefix):
    rng = random.Random(1)
    name = "vllm-0.32-cpu/server-speculation.log"
    noisy = []
    for line in lines(name):
        noisy.append(f"{prefix}{line}\x1b[0m")
        if rng.random() < 0.3 and "loggers.py" not in line:
            noisy.append(f'{prefix}INFO: 127.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK')
    assert read_samples(noisy) == read_samples(lines(name))


def test_the_command(capsys, tmp_path):
    log = tmp_path / "vllm.log"
    log.write_text(ARTICLE)
    assert main(["logs", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "107.6 to 109.8 tok/s" in shown and "acceptance explains" in shown
    (tmp_path / "other.txt").write_text("nothing\n")
    assert main(["logs", str(tmp_path / "other.txt")]) == 2
    assert "is this the server's own log" in capsys.readouterr().err
    assert main(["logs", str(tmp_path / "absent")]) == 2


def test_acceptance_of_a_whole_log_comes_from_its_counts():
    """77.4 % over 84 drafted tokens and 94.9 % over 19,168: their median, 86.15 %, says nothing of the run."""
    found = summarise(lines("vllm-0.21.0-h200/logs/vllm-spec.log"))
    rate, length = found.acceptance_rate, found.acceptance_length
    assert (rate.overall_from, rate.p50) == ("counts", pytest.approx(0.8615))
    assert rate.overall == pytest.approx((65 + 18183) / (84 + 19168))
    assert length.overall == pytest.approx(1 + (65 + 18183) / (65 / 2.32 + 18183 / 3.75))
    sglang = summarise(lines("sglang-0.5.12-h200/logs/sgl-spec.log")).acceptance_length
    assert sglang.overall_from == "batches" and sglang.overall > sglang.p50


GEMMA = """\
[2026-05-09 11:00:01] promoting --speculative-algorithm NEXTN to FROZEN_KV_MTP
[2026-05-09 11:00:02] server_args=ServerArgs(model_path='m', kv_cache_dtype='auto', speculative_algorithm='NEXTN', \
speculative_num_steps=5, speculative_num_draft_tokens=6)
[2026-05-09 11:00:09] Using KV cache dtype: torch.bfloat16
[2026-05-09 11:00:09] Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of 1.0.
[2026-05-09 11:00:10] KV Cache is allocated. #tokens: 55805, K size: 21.29 GB, V size: 21.29 GB
[2026-05-09 11:00:10] KV Cache is allocated. #tokens: 69757, K size: 2.66 GB, V size: 2.66 GB
[2026-05-09 11:00:11] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 900
[2026-05-09 11:00:12] Decode batch, #running-req: 4, #token: 500, token usage: 0.99, cuda graph: True, \
gen throughput (token/s): 90.00, #queue-req: 7
"""
"""The lines behind the settings that the background article lists for its SGLang server."""


@pytest.mark.parametrize("reverse", [False, True])
def test_what_sglang_made_of_its_flags(reverse):
    given = GEMMA.splitlines()
    found = summarise(given[1::-1] + given[2:] if reverse else given)
    effective = found.settings.effective
    assert found.settings.asked == {"speculative_algorithm": "NEXTN"}
    assert effective["speculation"] == {"method": "FROZEN_KV_MTP", "num_steps": 5, "num_draft_tokens": 6}
    assert (effective["kv_cache_dtype"], effective["kv_cache_dtype_resolved"]) == ("auto", "bfloat16")
    assert effective["kv_cache_gb"] == 47.90
    assert any("promoting" in note for note in found.settings.notes)
    assert any("scaling factors" in note for note in found.settings.notes)
    assert (found.preemptions, found.waiting_peak, found.kv_peak_used) == (2, 7, 0.99)


def test_both_pools_in_the_words_of_people_who_quote_them():
    settings = read_settings(["  SWA KV:  21.29 GB K + 21.29 GB V", "Full KV:  2.66 GB K +  2.66 GB V"])
    assert settings.effective["kv_cache_gb"] == 47.90


def test_auto_is_the_type_of_the_weights_on_vllm():
    settings = read_settings(lines("vllm-0.21.0-h200/logs/vllm-spec.log"))
    assert settings.effective["kv_cache_dtype_resolved"] == "bfloat16"
