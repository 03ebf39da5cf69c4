"""From the traced joint graph to the torch-free one: values, aliases, bytes, time."""
