.PHONY: lint test bench
lint:
	ruff check .
	ruff format --check .
	mypy
test:
	pytest
bench:
	pytest tests/benchmarks --benchmark-columns=min,median,rounds
