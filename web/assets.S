/* SPDX-License-Identifier: MIT */
/* The style of the pages (page.css) as a text. Found from the project's root on. */
    .section .rodata, "a", %progbits
    .globl page_css
    .hidden page_css
    .type page_css, %object
page_css:
    .incbin "web/page.css"
    .byte 0
    .size page_css, . - page_css
    .section .note.GNU-stack, "", %progbits
