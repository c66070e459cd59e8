.PHONY: lint test lowest slow bench docs
lint:
	ruff check .
	ruff format --check .
	mypy
test:
	pytest -n auto
# the oldest versions that pyproject.toml allows, in an environment of their own
lowest:
	python3 -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e ".[test]"
	.venv-lowest/bin/python -m pytest -n auto
slow:
	pytest -m slow
bench:
	pytest -m bench --benchmark-columns=min,median,rounds
docs:
	python -m sphinx -W --keep-going -j 2 -b html docs docs/_build/html
