"""Run the command line as `python -m salstats`."""

from salstats.cli.app import main

main()
