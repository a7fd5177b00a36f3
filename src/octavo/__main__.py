"""`python -m octavo` is the command `octavo`."""

import sys

from octavo.cli import main

sys.exit(main())
