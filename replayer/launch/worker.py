"""The runner as a process of its own: reads a job from standard input (`python -m replayer.launch.worker`)."""

from __future__ import annotations

import sys

from replayer.errors import ReplayerError
from replayer.run.job import Job
from replayer.run.runner import perform


def main() -> int:
    job = Job.parse(sys.stdin.read())
    try:
        return perform(job)
    except ReplayerError as error:
        print(f"replayer: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
