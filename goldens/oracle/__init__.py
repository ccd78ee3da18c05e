"""What runs inside the engine's own virtual environment, where torch and vLLM are.

Only `goldens.oracle.__main__` is started, as a process; the rest of the project never imports
this package. torch and vLLM are imported by name and typed `Any` (`engine.py`), since the project
itself does not have them.
"""
