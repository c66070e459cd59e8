"""Sentences of the help are of options, and in the words of the command line."""

import re

import pytest
from command_line import COMMANDS

import salstats as ss
from salstats.cli import commands as cli_commands
from salstats.cli import option_help
from salstats.cli.app import run


@pytest.mark.parametrize("command", COMMANDS)
def test_help_does_not_speak_python(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "10000")
    run([command, "--help"])
    shown = capsys.readouterr().out
    assert not re.findall(r'\bNone\b|see Notes|mapping|\("\w+", |--\S+ +<list|\br"|:func:|joblib', shown)


def test_every_sentence_of_the_help_is_one_of_an_option():
    made = set()
    for command in cli_commands.COMMANDS:
        own = cli_commands.command_arguments_and_options(command, getattr(ss, command.function))
        made |= {option.name for option in (*own, *command.source.options())}
        made |= set(command.arguments)
    groups = ("STATISTICS", "MODELS", "PLANNING", "SCORING", "FILES", "STUDIES", "DISPLAY")
    listed = {name for group in groups for name in getattr(option_help, group)}
    assert listed <= made
