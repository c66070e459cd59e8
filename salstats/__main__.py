"""Run the command line as `python -m salstats`."""

from salstats.cli import main

main()
