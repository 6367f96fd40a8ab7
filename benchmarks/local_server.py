"""Serves a GGUF model on 127.0.0.1 until it is ended: local_server.py FILE NAME PORT, and its key in MODEL_KEY."""

import os
import signal
import sys

import xllamacpp

path, name, port = sys.argv[1:]
given = xllamacpp.CommonParams()
given.model.path = path
given.model_alias = {name}
given.hostnames = ["127.0.0.1"]
given.port = int(port)
given.api_keys = [os.environ["MODEL_KEY"]]
given.n_ctx = 4096
given.cpuparams.n_threads = 1  # two on a busy machine wait for each other
server = xllamacpp.Server(given)
signal.pause()
