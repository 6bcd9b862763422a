rtl/proto/bin2dec.sv
rtl/proto/value_line.sv
rtl/proto/encode.sv
rtl/proto/ring_writer.sv
rtl/proto/udp_reply.sv
rtl/proto/exception.sv
rtl/proto/back.sv
