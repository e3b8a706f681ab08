"""A farm of boards on `dask.distributed`: one worker process per board, whose life is the lease of the board.

The scheduler is Dask's own (`dask scheduler`). A worker offers a resource named after each hardware key that it can be.
`station` is what a worker process owns, `jobs` what it does, `supervisor` keeps the processes of a machine running.
`offers` and `submission` are the side of the client, and `runner` boots a project on a board of the farm as any other
runner does.
"""
