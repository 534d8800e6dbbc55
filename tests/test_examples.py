"""The examples: plans that are valid, and start scripts whose every layout becomes the command it says."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from replayer.plan.load import make_plan

EXAMPLES = Path(__file__).parents[1] / "examples"
LAYOUTS = [
    ("vllm.sh", "plain", "vllm serve M .*--enable-prompt-tokens-details"),
    ("vllm.sh", "ngram", r'--speculative-config \{"method":"ngram","num_speculative_tokens":4'),
    ("vllm.sh", "eagle3", r'"method":"eagle3","model":"D"'),
    ("vllm.sh", "mtp", r'"method":"mtp"'),
    ("vllm.sh", "draft", r'\{"model":"D"'),
    ("vllm.sh", "tp", "--tensor-parallel-size 2"),
    ("vllm.sh", "pp", "--pipeline-parallel-size 2"),
    ("vllm.sh", "dp", "--data-parallel-size 2$"),
    ("vllm.sh", "ep", "--data-parallel-size 2 --enable-expert-parallel"),
    ("vllm.sh", "cp", "--tensor-parallel-size 2 --decode-context-parallel-size 2"),
    ("vllm.sh", "router", "vllm-router --vllm-pd-disaggregation .*--prefill P --decode Q"),
    ("vllm.sh", "prefill", "kv_producer"),
    ("vllm.sh", "decode", "kv_consumer"),
    ("sglang.sh", "plain", "sglang.launch_server --model-path M .*--enable-metrics --enable-cache-report"),
    ("sglang.sh", "ngram", "--speculative-algorithm NGRAM"),
    ("sglang.sh", "eagle3", "EAGLE3 --speculative-draft-model-path D --speculative-num-steps 3"),
    ("sglang.sh", "mtp", "NEXTN"),
    ("sglang.sh", "draft", "STANDALONE"),
    ("sglang.sh", "tp", "--tp-size 2"),
    ("sglang.sh", "pp", "--pp-size 2"),
    ("sglang.sh", "dp", "--dp-size 2"),
    ("sglang.sh", "ep", "--enable-dp-attention --ep-size 2"),
    ("sglang.sh", "cp", "--tp-size 2 --attn-cp-size 2 --enable-prefill-context-parallel"),
    ("sglang.sh", "prefill", "--disaggregation-mode prefill"),
    ("sglang.sh", "decode", "--disaggregation-mode decode"),
    ("sglang.sh", "router", "launch_router --pd-disaggregation .*--prefill P --decode Q"),
    ("trtllm.sh", "plain", "trtllm-serve M "),
    ("trtllm.sh", "ngram", "NGram"),
    ("trtllm.sh", "eagle3", "Eagle3"),
    ("trtllm.sh", "mtp", "MTP"),
    ("trtllm.sh", "draft", "Draft_Target"),
    ("trtllm.sh", "tp", "--tp_size 2"),
    ("trtllm.sh", "pp", "--pp_size 2"),
    ("trtllm.sh", "ep", "--ep_size 2(.|\n)*enable_attention_dp: true"),
    ("trtllm.sh", "cp", "--tp_size 1 --cp_size 2"),
    ("trtllm.sh", "prefill", "cache_transceiver_config"),
    ("trtllm.sh", "decode", "cache_transceiver_config"),
    ("trtllm.sh", "router", "disaggregated -c"),
    ("llamacpp.sh", "plain", "llama-server -m M .*--metrics"),
    ("llamacpp.sh", "ngram", "ngram-simple"),
    ("llamacpp.sh", "draft", "-md D"),
]


@pytest.fixture
def stubs(tmp_path):
    """Programs that say how they were called, and what their --config file holds."""
    for name in ("vllm", "vllm-router", "python", "trtllm-serve", "llama-server"):
        stub = tmp_path / name
        stub.write_text(
            f'#!/bin/bash\necho "{name} $*"\nwhile [ $# -gt 0 ]; do [ "$1" = --config ] && cat "$2"; shift; done\n'
        )
        stub.chmod(0o755)
    more = {"MODEL": "M", "DRAFT": "D", "PREFILL": "P", "DECODE": "Q", "TMPDIR": str(tmp_path)}
    return {**os.environ, **more, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize(("script", "layout", "wanted"), LAYOUTS)
def test_every_layout_becomes_its_command(stubs, script, layout, wanted):
    done = subprocess.run([EXAMPLES / "start" / script, layout], env=stubs, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(wanted, done.stdout), done.stdout


@pytest.mark.parametrize("script", ["vllm.sh", "sglang.sh", "trtllm.sh", "llamacpp.sh"])
def test_an_unknown_layout_names_the_known_ones(stubs, script):
    done = subprocess.run([EXAMPLES / "start" / script, "tpp"], env=stubs, capture_output=True, text=True)
    assert done.returncode == 2 and "no layout tpp (plain ngram" in done.stderr


@pytest.mark.parametrize("plan", ["plan.toml", "one-gpu.toml", "sampling-sweep.toml"])
def test_the_plans_are_valid(plan):
    made = make_plan(tomllib.loads((EXAMPLES / plan).read_text()))
    assert len(made.lane) >= 2


def test_every_compose_service_runs_a_layout_that_exists():
    text = (EXAMPLES.parent / "compose.yaml").read_text()
    used = re.findall(r"entrypoint: \[/examples/start/(\w+\.sh), (\w+)\]", text)
    assert len(used) == 12
    assert set(used) <= {(script, layout) for script, layout, _ in LAYOUTS}


def test_the_image_copies_what_is_there_and_starts_the_command() -> None:
    """Without a container engine: each line is a known instruction, extras exist, and the start is the console script."""
    root = EXAMPLES.parent
    text = re.sub(r"\\\n", " ", (root / "Containerfile").read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert {line[0] for line in lines} <= known and lines[0][0] == "FROM"
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = re.findall(r"(?:/source|agent-replayer)\[(\w+)\]", text)
    assert len(extras) == 2 and set(extras) <= set(project["optional-dependencies"])
    assert dict(lines)["ENTRYPOINT"] == '["replayer"]' and "replayer" in project["scripts"]


def test_compose_is_sound_yaml_with_one_profile_a_service() -> None:
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load((EXAMPLES.parent / "compose.yaml").read_text())
    for name, service in document["services"].items():
        assert service["profiles"] == [name] and service["image"] and service["entrypoint"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert "./examples:/examples:ro" in service["volumes"]
