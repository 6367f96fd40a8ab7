"""Small changes of the reference store, the classifier, the scanner and the measures: something has to notice each.

`python -m benchmarks.mutants [ROOM ...]`; the README beside it has the newest result and says how it works.
"""
