rtl/reply/bin2dec.sv
rtl/reply/value_line.sv
rtl/reply/encode.sv
rtl/reply/ring_writer.sv
rtl/reply/udp_reply.sv
rtl/reply/exception.sv
rtl/reply/back.sv
rtl/reply/pieces.sv
