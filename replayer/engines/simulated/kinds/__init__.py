"""The engines that the simulated one can imitate: one module per family, each citing its captures."""

from replayer.engines.simulated.kinds.base import Kind
from replayer.engines.simulated.kinds.llamacpp import IkLlama, LlamaCpp
from replayer.engines.simulated.kinds.sglang import Sglang
from replayer.engines.simulated.kinds.trtllm import TrtLlm
from replayer.engines.simulated.kinds.vllm import Vllm

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Vllm, Sglang, TrtLlm, LlamaCpp, IkLlama)}
