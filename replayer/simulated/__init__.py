"""An engine that plays recorded replies over real HTTP, in a process of its own: the test bed of everything.

It speaks the dialect of vLLM, SGLang, TensorRT-LLM, llama.cpp or ik_llama.cpp; what it imitates of each cites the
capture that shows it (`tests/captures`). It knows nothing of the signals that judge its replies.
"""

from replayer.simulated.process import Launched, launch
from replayer.simulated.spec import SimulatedSpec

__all__ = ["Launched", "SimulatedSpec", "launch"]
