/* SPDX-License-Identifier: MIT */
/* The helper program (helper/helper.c) as bytes, so that the library needs no file
 * beside it to start its guard. HELPER_PATH comes from the command line. */
    .section .rodata, "a", %progbits
    .balign 16
    .globl helper_image
    .hidden helper_image
    .type helper_image, %object
helper_image:
    .incbin HELPER_PATH
    .globl helper_image_end
    .hidden helper_image_end
    .type helper_image_end, %object
helper_image_end:
    .byte 0
    .size helper_image, helper_image_end - helper_image
    .section .note.GNU-stack, "", %progbits
