"""`python -m hiremate_gen`."""

from hiremate_gen.cli import main

if __name__ == "__main__":
    main(prog_name="hiremate-gen")
