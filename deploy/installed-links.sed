# Links of a document, as they are where it is installed (sed -zE): a link to an
# installed file leads there; of any other link to a file, only the text stays.
s@</?(picture|source|img)[^>]*>\n*@@g
s@\]\((\.\./|docs/|\./)*(features|fleet|http-api|operations/[A-Za-z]+|scheduling|store|upgrade|uploads)\.md@](../darkroom/\2.md@g
s@\]\((\.\./|docs/|\./)*loadgen\.md@](../darkroom-loadgen/loadgen.md@g
s@\]\((\.\./)*deploy/\)@](../darkroom/examples/)@g
s@\]\((\.\./)*deploy/([a-z-]+\.(yaml|yml|json|cfg|conf)|environment)\)@](../darkroom/examples/\2)@g
# Set aside what is right.
s@\]\((#|https?:|\.\./darkroom/|\.\./darkroom-loadgen/)@]\x01\1@g
s@!?\[([^][]*)\]\([^)]*\)@\1@g
s@\x01@(@g
