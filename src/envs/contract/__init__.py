"""What an environment says and shows: fields, sizes, spaces, values, outcomes, seeds; and the checks of each."""
