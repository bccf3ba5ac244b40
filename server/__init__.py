import os

# NumPy's BLAS would split even our small products over all cores and wait for the slowest, which
# stalls every conversation. It reads this once, when NumPy is first imported: hence here.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
