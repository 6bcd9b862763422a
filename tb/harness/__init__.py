"""What tests in more than one folder need: designs under cocotb, servers, streams of commands, what tests are made from."""
