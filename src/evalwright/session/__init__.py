"""One invocation: open the store, connect and wrap models, drive the engine, finalize, report."""
