"""`python -m assay`: the same as the `assay` command."""

import os
import sys

if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]  # a file in the working directory may have the name of a module of ours

from assay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
