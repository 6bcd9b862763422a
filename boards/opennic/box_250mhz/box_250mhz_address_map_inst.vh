// Inside of OpenNIC's box_250mhz: its registers are the plugin's, as they come.
