.PHONY: lint test slow bench
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
