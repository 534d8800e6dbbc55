"""What the servers say, beside each other: the KV pools of the background articles can be read off two lanes."""

from replayer.metrics.documents import KvPool
from replayer.report.table import server_notes, server_rows, table_rows
from tests.figures import empty_lane as lane


def server(**more):
    figures = {
        "resets": 0,
        "missing": 0,
        "why": [],
        "foreign_tokens": {"generated": 0},
        "gpu": None,
        "tokens": {},
    }
    return figures | more


def test_the_kv_pools_of_two_dtypes_and_what_differs():
    bf16 = lane(
        "bf16",
        facts={"kv_cache_dtype": "auto", "tp": 1, "swa_pool_tokens": 55805},
        kv=KvPool(69757, 0.5),
    )
    fp8 = lane(
        "fp8",
        facts={"kv_cache_dtype": "fp8_e4m3", "tp": 1, "swa_pool_tokens": 111612},
        kv=KvPool(139515, 0.25),
    )
    rows = dict(table_rows([bf16, fp8]))
    assert rows["KV tokens (peak)"] == ["69,757 + SWA 55,805 (50.0%)", "139,515 + SWA 111,612 (25.0%)"]
    assert rows["  kv cache dtype"] == ["auto", "fp8_e4m3"]
    assert "  tp" not in rows and "speed bands" not in rows


def test_a_fact_of_one_lane_only_counts_between_lanes_of_one_kind():
    plain, drafted = lane("plain"), lane("drafted", facts={"speculation": {"method": "ngram"}})
    assert dict(server_rows([plain, drafted]))["  speculation"] == ["–", "method=ngram"]
    assert "  speculation" not in dict(server_rows([lane("llama", "llamacpp"), drafted]))


def test_bands_and_energy():
    bands = [{"low": 95.3, "high": 95.9, "share": 0.5}, {"low": 107.6, "high": 109.8, "share": 0.5}]
    fit = {"few": True, "explained_by_acceptance": 0.98}
    gpu = {
        "names": ["NVIDIA H200"],
        "peak_utilisation": 0.41,
        "peak_memory_bytes": 7_167_139_840,
        "peak_power_w": None,
        "energy_per_token_j": 5.0,
    }
    rows = dict(server_rows([lane("a", bands=bands, band_fit=fit, server=server(gpu=gpu))]))
    assert rows["speed bands"] == ["95–96 50% | 108–110 50% (few)"]
    assert rows["  explained by acceptance"] == ["98%"]
    assert rows["GPU"] == ["NVIDIA H200"]
    assert rows["GPU peak (use, mem, power)"] == ["41% · 6.7 GiB · –"]
    assert rows["energy per token"] == ["5 J"]


def test_shared_energy_and_tiers():
    gpu = {
        "names": [],
        "peak_utilisation": None,
        "peak_memory_bytes": None,
        "peak_power_w": None,
        "energy_per_token_j": None,
        "shared_with": ["a", "b"],
    }
    tokens = {"cached_device": 1200.0, "cached_host": 300.0, "cached_remote": None}
    rows = dict(
        server_rows([lane("a", server=server(gpu=gpu, tokens=tokens)), lane("b", server=server(gpu=gpu))])
    )
    assert rows["energy per token"] == ["shared with b", "shared with a"]
    assert rows["cached on device, host, remote"] == ["1,200 / 300 / –", "–"]


def test_figures_that_suffer_are_marked():
    notes = server_notes(
        [
            lane("a", server=server(resets=1)),
            lane("b", server=server(missing=3, why=["timeout"])),
            lane("c", server=server(missing=1, why=["off"])),
            lane("d", server=server(foreign_tokens={"generated": 1200.0})),
            lane("e"),
        ]
    )
    assert len(notes) == 3
    assert "a restart" in notes[0] and "timeout" in notes[1] and "1,200 tokens" in notes[2]
