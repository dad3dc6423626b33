"""What the program costs, beside the same work with nothing around it. Linux; run on demand.

    pip install -e '.[bench]'
    python -m tests.bench -o now.json       # everything; --fast for a first look
    python -m tests.bench.table now.json    # as ratios, and how the cost grows
    python -m tests.bench.memory            # of branches
    pyperf compare_to before.json now.json

Figures are CPU seconds of the one process that does the work, so that a busy machine disturbs them
less; compare ratios, and only within one run. A new measure is a line in `measures.py`.
"""
