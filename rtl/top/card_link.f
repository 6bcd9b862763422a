-f rtl/top/card.f
-f rtl/link/link.f
rtl/top/card_link.sv
