# A runtime that speaks OMPT looks for ompt_start_tool in the program; nothing that is linked to it refers to that name.
target_link_options(${target} INTERFACE LINKER:--export-dynamic-symbol=ompt_start_tool)
