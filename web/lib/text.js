// @ts-check
// The text of the task `text`: written for this project, in small letters so that the alphabet is small, and with few
// words that come often, so that a small model can learn to write like it.
export const text = `the stream and the mills

a stream came down from the hills, and along the stream there stood twelve mills. the first mill was old and the last mill was new, but all of them did the same work. each mill took a little water from the stream, turned its wheel, and gave the water back. so the stream went on to the next mill, a little richer than before.

the miller of the first mill said, i do not change the stream. i read what the water tells me, i think about it, and i add what i know. what came from the hills goes on as it came, and my word goes with it.

the miller of the second mill said, i do the same. i read the stream, and i add a little. if i have nothing to say, i add nothing, and the stream goes on as if there were no mill at all.

this is why the twelve mills never fell silent. in another valley the mills had been built across the water, and each mill kept all that came and gave only what it had made. there the first mill spoke, and the second mill spoke of the first, and the third mill spoke of the second, and at the sea no one could tell what the hills had said.

one spring the snow melted and the stream rose. each mill had added a little, and a little more, and at the last mill the water was deep and loud. the small words of the last miller were lost in it. he said, i add as much as the others, but the stream is so great now that no one can see what i do.

then the keeper of the stream came. she said, before you read the water, make it even. take away the mean, so that it is neither high nor low. divide by its spread, so that it is neither loud nor faint. then you read the same water in spring and in autumn, and your wheel will always turn well.

where shall we do this, said the millers. shall we make the stream itself even, or only the water that we take?

the keeper said, there are two ways. if you make the stream even after each mill, it stays the same from the hills to the sea, and every mill is heard as well as the first. but what came from the hills is made smaller at each step, and whoever walks back up the stream must pass every gate. if you make even only the water that you take, the stream itself is free. whoever walks back from the sea to the hills finds an open way, and no gate stops him. but the stream grows, and the last mills are heard less than the first.

the millers thought about it for a long time. some of them put the gate before the wheel, and some of them put the gate behind it, and one of them put a gate on both sides. one miller began with his wheel standing still, and let it turn a little more each day. all of them ground their flour, and the bread was good.

now when the sea wants to teach the hills, it sends a boat up the stream. the boat carries what was wrong with the bread. at each mill it stops and says, this much of it is yours. then the miller turns his screws a little to the other side, and the boat goes on to the mill above. if the boat grows too heavy on the way, the first mills are drowned in what it brings. if it grows too light, the first mills learn nothing. but where the stream is open the boat comes to the hills as heavy as it left the sea, and all the mills learn at the same speed.

so the keeper wrote three rules on a stone beside the first mill. keep the stream open. read even water. add a little. and below them a child wrote a fourth rule in small letters, and the keeper let it stand. if you do not know what to say, say nothing, and let the stream go by.

when evening comes the wheels stand still. the stream goes on in the dark, past the first mill and past the last mill, and it carries all their words to the sea. the stream does not know which word came from which mill. it only knows that each of them added a little, and that none of them took away what the others had said.
`;
