# The shell runs this for a crossbar between register files of a box. This box has one register file and no crossbar.
