"""Every exception that replayer raises on purpose.

ReplayerError                 exit code 2: bad input or usage
├── TraceError                a trace file is missing, damaged or of a newer schema
├── PlanError                 a plan file, an engine SPEC or a flag makes no sense
├── RunFolderError            a run folder cannot be read, written or locked
├── MissingPartError          exit code 3: a needed part (sandbox, model, package) is missing
├── EngineUnavailable         exit code 3: an engine cannot be reached or refuses the key
└── Interrupted               exit code 130: stopped by the user, the journal complete so far

A message is one sentence that names the file, line or flag and the remedy.
"""


class ReplayerError(Exception):
    """Base of all; `str()` is the one sentence a user reads."""

    exit_code = 2


class TraceError(ReplayerError):
    """A trace cannot be read. The message names file, line and reason."""


class PlanError(ReplayerError):
    """A plan, an engine SPEC or a flag is wrong. The message names the key and the nearest right one."""


class RunFolderError(ReplayerError):
    """A run folder cannot be created, read, written or locked."""


class MissingPartError(ReplayerError):
    """A part that the command needs is not on this machine."""

    exit_code = 3


class EngineUnavailable(ReplayerError):
    """An engine cannot be reached, or it refuses the API key."""

    exit_code = 3


class Interrupted(ReplayerError):
    """The user stopped the run; the message names `replayer resume RUN`."""

    exit_code = 130
