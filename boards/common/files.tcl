# The sources of a file list, in its order, with the folders of headers: {files folders}. A line of a list is a file, "-f" and
# another list, or "+incdir+" and a folder; names are from the repository's root on.
proc wirekv_sources {root list} {
    set files [list]
    set folders [list]
    set in [open [file join $root $list]]
    set lines [split [read $in] "\n"]
    close $in
    foreach line $lines {
        set line [string trim [regsub {//.*} $line ""]]
        if {$line eq ""} {
            continue
        } elseif {[regexp {^-[fF]\s+(\S+)$} $line -> inner]} {
            lassign [wirekv_sources $root $inner] more headers
            lappend files {*}$more
            lappend folders {*}$headers
        } elseif {[regexp {^\+incdir\+(\S+)$} $line -> folder]} {
            lappend folders [file join $root $folder]
        } else {
            lappend files [file join $root $line]
        }
    }
    # Each once, where it came first.
    set once [dict create]
    foreach file $files { dict set once $file 1 }
    return [list [dict keys $once] [lsort -unique $folders]]
}
