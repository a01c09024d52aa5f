"""`python -m assay`: the same as the `assay` command."""

import sys

from assay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
