set encoding utf8

# The arms, in the order of the plan, and their order in plots of boxes.
array name[16]
array number[16] # in the plan
array ranked[16]
arms = 0
longest = 0      # name, in letters

# Colours on white paper, and on dark.  Those of arms are Okabe and Ito's, which
# colour-blind readers can tell apart, made darker or lighter until they stand
# out from the background.
paper = '#ffffff'
dark_paper = '#161616'
dark_ink = '#e8e8e8'
soft = 0x5a5a5a
grid = 0xdddddd
array light[11] = [0x0072b2, 0xd55e00, 0x00805c, 0xb0508a, 0x8a6d00, \
	0x2b93cc, 0x5b3a8e, 0x5f5f5f, 0xa6192e, soft, grid]
array dark[11] = [0x4ea8e0, 0xff8a3d, 0x2fc79a, 0xe39ac6, 0xe0c33c, \
	0x9ad7ff, 0xb49be8, 0xb5b5b5, 0xff7f8e, 0xa8a8a8, 0x3a3a3a]
array markers[4] = [7, 5, 13, 9] # circle, square, ...
colour(number) = light[int(number) % 9 + 1]
marker(number) = markers[int(number) % 4 + 1]
dash(number) = int(number) % 4 + 1
set dashtype 1 solid
set dashtype 2 (12,5)
set dashtype 3 (3,5)
set dashtype 4 (14,5,3,5)

# A style sheet for the SVG files, which gnuplot cannot put into them itself:
# what replaces each colour in dark mode.  gnuplot writes rgb() in two ways.
rgb(format, c) = sprintf(format, c >> 16, c >> 8 & 255, c & 255)
rule(attribute, i) = sprintf('[%s="%s"],[%s="%s"]{%s:#%06x}', \
	attribute, rgb('rgb(%3d, %3d, %3d)', light[i]), \
	attribute, rgb('rgb(%d,%d,%d)', light[i]), attribute, dark[i])
set print 'plots.css'
print '@media (prefers-color-scheme:dark){'
print sprintf('[fill="%s"]{fill:%s}[fill="black"]{fill:%s}', \
	paper, dark_paper, dark_ink).sprintf('[stroke="black"]{stroke:%s}', \
	dark_ink).sprintf('[color="black"]{color:%s}', dark_ink)
do for [i in "10 11 1 2 3 4 5 6 7 8 9"] {
	print rule('fill', int(i))
	print rule('stroke', int(i))
	print rule('color', int(i))
}
print '}'
set print

# A plot's file, plot_title, x_title and data are set, and then "eval boxes" or
# "eval curves" draws it.  Sizes are in pixels; a letter is about 7 wide.
field_width = 480
top = 56
bottom = 60
x(pixels) = real(sprintf('%f', pixels / width))
y(pixels) = real(sprintf('%f', 1 - pixels / height))
begin = 'reset; \
	width = real(left + field_width + right); \
	height = real(top + field_height + bottom); \
	set terminal svg size width, height dynamic noenhanced \
		background rgb paper font "system-ui,sans-serif,12"; \
	set output file; \
	set lmargin at screen x(left); \
	set rmargin at screen x(left + field_width); \
	set tmargin at screen y(top); \
	set bmargin at screen y(top + field_height); \
	set border lc rgb soft; \
	set tics nomirror scale 0 tc rgb soft; \
	set grid lt 1 lw 1 lc rgb grid; \
	set format "%.10g"; \
	set label plot_title at screen x(12), screen y(18) \
		left font ",14"; \
	set xlabel x_title; '

# Quartiles and median of each arm as a box, lines to both ends, and all values.
# $boxes: row, five numbers, number of the arm; $values: row, value, number.
boxes = 'left = 7 * longest + 20; \
	left = left < 90 ? 90 : left; \
	right = 30; \
	field_height = 30 * arms; '.begin.'\
	set border 1; \
	unset key; \
	unset ytics; \
	set yrange [arms - 0.5:-0.5]; \
	do for [i=1:arms] { \
		set label name[ranked[i]] at graph 0, first i - 1 \
			right offset character -1,0; \
	}; \
	plot $boxes using 4:1:3:5:($1-.27):($1+.27):(colour($7)) \
			with boxxyerror fs transparent solid .18 \
			lc rgb variable, \
		$boxes using 2:1:($3-$2):(0):(colour($7)) \
			with vectors nohead lw 2 lc rgb variable, \
		$boxes using 5:1:($6-$5):(0):(colour($7)) \
			with vectors nohead lw 2 lc rgb variable, \
		$boxes using 4:($1-.37):(0):(.74):(colour($7)) \
			with vectors nohead lw 2 lc rgb variable, \
		$values using 2:1:(marker($3)):(colour($3)) \
			with points pt variable ps .6 lc rgb variable'

# Curves of times, on a logarithmic axis with a tenth of room at both ends.
# has_nines: shares of the replies in % by their times, on an axis on which 0,
# 90, 99, 99.9 ... % have equal distances; otherwise times by rates.
# $curves: x and y; count curves, of arms curve_arm[].
array curve_arm[16]
decades = '1e-3,1e-2,1e-1,1e0,1e1,1e2,1e3,1e4,1e5,1e6,1e7,1e8'
fine = ',2e-3,5e-3,2e-2,5e-2,2e-1,5e-1,2e0,5e0,2e1,5e1,2e2,5e2,2e3,5e3'. \
	',2e4,5e4,2e5,5e5,2e6,5e6,2e7,5e7'
nines(percent) = -log10(1 - percent / 100)
at_least_one(n) = n < 1 ? 1 : n
curves = 'left = 70; \
	right = 7 * longest + 70; \
	field_height = 320; '.begin.'\
	set border 3; \
	set label (has_nines ? "replies that came sooner, %" : "ms") \
		at screen x(12), screen y(top - 12) left; \
	set key at screen x(left + field_width + 16), screen y(top) \
		left top Left reverse samplen 3 spacing 1.3; \
	stats $curves using 1:2 nooutput; \
	axis = has_nines ? "x" : "y"; \
	low = has_nines ? STATS_min_x : STATS_min_y; \
	high = has_nines ? STATS_max_x : STATS_max_y; \
	eval sprintf("set logscale %s; set %srange [%.6g:%.6g]", \
		axis, axis, low / 1.1, high * 1.1); \
	eval "set ".axis."tics (".decades. \
		(log10(high / low) <= 3 ? fine : "").")"; \
	if (has_nines) { \
		set yrange [0:at_least_one(ceil(nines(STATS_max_y) - 1e-9))]; \
		set ytics ("0" 0, "50" log10(2), "90" 1, "99" 2, "99.9" 3, \
			"99.99" 4, "99.999" 5, "99.9999" 6); \
		plot for [i=1:count] $curves index i - 1 \
			using 1:(nines($2)) with lines lw 2 \
			dt dash(number[curve_arm[i]]) \
			lc rgb colour(number[curve_arm[i]]) \
			title name[curve_arm[i]]; \
	} else { \
		plot for [i=1:count] $curves index i - 1 \
			with linespoints lw 2 \
			dt dash(number[curve_arm[i]]) \
			lc rgb colour(number[curve_arm[i]]) \
			pt marker(number[curve_arm[i]]) ps 0.6 \
			title name[curve_arm[i]]; \
	}'
