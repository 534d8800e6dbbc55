"""The engines that the simulated one can imitate: one module per family, each citing its captures."""

from replayer.simulated.kinds.base import Kind
from replayer.simulated.kinds.llamacpp import IkLlama, LlamaCpp
from replayer.simulated.kinds.sglang import Sglang
from replayer.simulated.kinds.trtllm import TrtLlm
from replayer.simulated.kinds.vllm import Vllm

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Vllm, Sglang, TrtLlm, LlamaCpp, IkLlama)}
