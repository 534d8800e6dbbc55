"""How much of each prompt the engine could have reused, how much it did, and why the rest was computed again."""

from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import session_verdict, settled
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.signals.prefix_reuse.tokens import ideal_reuse

__all__ = ["PrefixFinding", "PrefixReuse", "TurnReuse", "ideal_reuse", "session_verdict", "settled"]
