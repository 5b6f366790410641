at=$out visit_of=()
names_of "${nodes[@]}" > "$out/asked.$job"
cat "$out"/asked.[!t]* | sort -u > "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"
measure_all "${nodes[@]}"

