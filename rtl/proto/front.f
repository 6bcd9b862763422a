rtl/proto/front_pkg.sv
rtl/proto/session.sv
rtl/proto/fetch.sv
rtl/proto/number.sv
rtl/proto/tokens.sv
rtl/proto/words.sv
rtl/proto/decode.sv
rtl/proto/front.sv
