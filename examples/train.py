#!/usr/bin/env python3
"""Trains a model from Python over the C interface, with nothing but the standard library.

Usage: train.py STATE_DIRECTORY [LIBRARY]. The state directory is made if it is missing; a private daemon
serves it as long as the connection is open.
"""
import ctypes
import json
import sys

OK, ROW, DONE = 0, 1, 2


class Traind:
    """A connection; closing it ends the private daemon."""

    def __init__(self, address, library="libtraind.so.1"):
        self.lib = ctypes.CDLL(library)
        for name in ("traind_errmsg", "traind_result_json"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.lib.traind_errmsg.argtypes = [ctypes.c_void_p]
        self.lib.traind_result_json.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.lib.traind_result_free.argtypes = [ctypes.c_void_p]
        self.lib.traind_close.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.lib.traind_execute.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p]
        self.conn = ctypes.c_void_p()
        self._check(self.lib.traind_open(address.encode(), None, ctypes.byref(self.conn)))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.lib.traind_close(self.conn, None)

    def _check(self, code):
        if code != OK:
            raise RuntimeError(self.lib.traind_errmsg(self.conn).decode())

    def execute(self, script, **parameters):
        """Runs a script; a list of dictionaries, the rows of its last statement."""
        result = ctypes.c_void_p()
        code = self.lib.traind_execute(
            self.conn, script.encode(), -1, json.dumps(parameters).encode(), ctypes.byref(result))
        try:
            self._check(code)
            last = json.loads(self.lib.traind_result_json(result, None))[-1]
        finally:
            self.lib.traind_result_free(result)
        names = [column["name"] for column in last["columns"]]
        return [dict(zip(names, row)) for row in last["rows"]]


def main():
    with Traind("embed:" + sys.argv[1], *sys.argv[2:3]) as traind:
        traind.execute("""
            CREATE DATASET IF NOT EXISTS gpl FROM '/usr/share/common-licenses/GPL-3' FORMAT text;
            CREATE MODEL IF NOT EXISTS small ARCHITECTURE llama WITH (hidden_size=32, num_hidden_layers=1,
              num_attention_heads=2, vocab_size=256, max_position_embeddings=64)""")
        job = traind.execute("""
            TRAIN MODEL small FROM gpl USING (learning_rate=3e-3, sequence_length=64, batch_tokens=512)
              FOR $steps STEPS WAIT""", steps=20)[0]
        for row in traind.execute("SELECT step, loss FROM sys_metrics WHERE job = $job ORDER BY step", job=job["id"]):
            if row["step"] % 5 == 0:
                print(f"step {row['step']:3}  loss {row['loss']:.4f}")
        print(traind.execute("GENERATE FROM MODEL small PROMPT 'This License' USING (max_tokens=20, seed=1)")[0])


if __name__ == "__main__":
    main()
