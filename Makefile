.PHONY: lint test slow bench docs
lint:
	ruff check .
	ruff format --check .
	mypy
test:
	pytest -n auto
slow:
	pytest -m slow
bench:
	pytest -m bench --benchmark-columns=min,median,rounds
docs:
	python -m sphinx -W --keep-going -j 2 -b html docs docs/_build/html
