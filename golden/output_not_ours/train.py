print("written by a person")
