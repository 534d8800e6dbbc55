import sys

from replayer.cli import main

sys.exit(main())
