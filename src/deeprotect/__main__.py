"""`python -m deeprotect`, and a file that `spark-submit` can start."""

from deeprotect.cli import main

if __name__ == "__main__":
    main()
