/*-------------------------------------------------------------------------
 *
 * chooser.h
 *	  The smallest way of storing a file's texts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LW_SECTION_CHOOSER_H
#define LW_SECTION_CHOOSER_H

#include "section/bytes.h"
#include "section/stop.h"

/* What to write as 0x02 and, unless extra_id is 0, as a second section with encoding 0. */
typedef struct LwTextChoice
{
	uint32_t	encoding;		/* 1, 10, 5 or 9 */
	LwBuffer	payload;
	uint32_t	extra_id;		/* 0x0A, 0x0B or 0 */
	LwBuffer	extra;
} LwTextChoice;

/*
 * Tries every encoding in the format's order and keeps the first of the
 * smallest.  Beside the texts this holds their size again, two candidates
 * (each at most about twice that size while it is made, some 20 bytes a text
 * on top), some 100 MiB of libzstd's, and what lw_fsst_build takes.  Free the
 * choice also when this fails.
 */
extern LwStatus lw_choose_texts(const LwBytes *texts, size_t count, const LwStop *stop,
								LwTextChoice *choice, LwError *error);
extern void lw_text_choice_free(LwTextChoice *choice);

#endif							/* LW_SECTION_CHOOSER_H */
