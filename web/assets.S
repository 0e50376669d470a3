/* SPDX-License-Identifier: MIT */
/* The style of the pages (page.css) and their script (page.js) as texts. Found from the project's root on. */
    .section .rodata, "a", %progbits
    .globl page_css
    .hidden page_css
    .type page_css, %object
page_css:
    .incbin "web/page.css"
    .byte 0
    .size page_css, . - page_css
    .globl page_js
    .hidden page_js
    .type page_js, %object
page_js:
    .incbin "web/page.js"
    .byte 0
    .size page_js, . - page_js
    .section .note.GNU-stack, "", %progbits
